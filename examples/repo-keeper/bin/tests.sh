# The tests of the repository, run in its folder. Make this yours; tools cannot change it.
make test
