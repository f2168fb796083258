"""threads.py -- what /proc says of the threads of a process."""
import os


def of_threads(pid, name):
    """The text of that file, "stat" or "status", of each; a thread may end between the list and the look."""
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/%s" % (pid, task, name)) as file:
                yield file.read()
        except (FileNotFoundError, ProcessLookupError):
            pass
