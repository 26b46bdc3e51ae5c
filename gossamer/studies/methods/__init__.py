"""All methods beside each other, for who has to choose one."""
