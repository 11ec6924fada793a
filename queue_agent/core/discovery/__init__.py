"""What attributes and registrations make of the state tables."""
