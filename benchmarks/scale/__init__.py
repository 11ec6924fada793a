"""An agent with very many objects: what it costs, and how fast it answers meanwhile."""
