"""Dashboards as data: for Grafana, and for the UI of YTsaurus."""
