# ~/.ipython/profile_default/ipython_config.py: every notebook and every ipython has %%track without %load_ext gpu_tracker.
c = get_config()  # noqa: F821
c.InteractiveShellApp.extensions = ["gpu_tracker"]
