"""One module a command; its name is the command's."""
