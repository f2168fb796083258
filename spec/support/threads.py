"""threads.py -- reads files of /proc about the threads of a process."""
import os


def of_threads(pid, name):
    """Returns the text of that file, "stat" or "status", for each thread.  A thread may end between listing and reading."""
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/%s" % (pid, task, name)) as file:
                yield file.read()
        except (FileNotFoundError, ProcessLookupError):
            pass
