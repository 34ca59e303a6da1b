"""What meets a facility: sessions drawn from distributions, or recorded ones."""
