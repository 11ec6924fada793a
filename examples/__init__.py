"""Programs that use YTsaurus clusters, local or real ones."""
