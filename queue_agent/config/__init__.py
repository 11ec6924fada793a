"""Configuration of the agent; every field is explained below it, the reference page is generated from here."""
