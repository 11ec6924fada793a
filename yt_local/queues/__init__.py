"""Queues: consumers, producers, registrations, and what queue agents say of them."""
