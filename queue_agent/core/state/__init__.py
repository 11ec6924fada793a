"""What the agent knows of a stage: attributes of its objects, and the state tables that keep them."""
