"""What the templates of the pages use."""
