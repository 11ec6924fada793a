"""What a command is, and how requests and messages become calls of one."""
