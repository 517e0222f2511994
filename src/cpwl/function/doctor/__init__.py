"""What is wrong with a function, and what is noteworthy: findings with witnesses."""
