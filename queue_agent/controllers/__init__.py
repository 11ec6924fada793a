"""What happens when: passes and the tasks that run them."""
