"""`python -m gradscope` is the `gradscope` command."""

from gradscope.cli import main

if __name__ == "__main__":
    main()
