"""Programs in the manner of the test suites of other compilers: one operator or a few, all sizes dynamic."""
