"""The ports of the agent: HTTP, and Orchid over RPC."""
