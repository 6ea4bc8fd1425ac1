"""The command line of the stand-in: start_stand_in.py COMMAND."""

from headworks.__main__ import end_at_ctrl_c

if __name__ == "__main__":
    end_at_ctrl_c()
    from stand_in import main

    main()
