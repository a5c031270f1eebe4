"""`python -m judge`: the command `judge`, where its script is not on the path."""

from judge.cli.main import main

if __name__ == "__main__":
    main()
