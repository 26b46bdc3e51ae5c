"""Today's methods train a Transformer on words and on characters."""
