"""The Cypress tree: nodes, attributes, locks, transactions."""
