"""What a replay saw, beside what the layout promises."""
