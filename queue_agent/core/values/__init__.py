"""Values that all decisions share: references, numbers as others write them, times, errors."""
