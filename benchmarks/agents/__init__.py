"""How several agents share very many queues."""
