"""The agents of a stage: on Cypress, and asked over RPC."""
