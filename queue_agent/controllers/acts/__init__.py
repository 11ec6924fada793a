"""What people have done from the console, with their own rights: previews, and carrying out."""
