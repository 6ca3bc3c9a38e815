"""Debian's Chromium without a window. Selenium, which drives it, comes from PyPI into a virtual environment in the user's cache."""
import contextlib
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Servers"))

import pypi

VERSION = "4.27.1"


def install():
    """Makes selenium importable; installs it if it is not there. Ends with exit code 77 if the browser or selenium cannot be had."""
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("Chromium is not here; Debian's packages are chromium and chromium-driver", file=sys.stderr)
        sys.exit(77)
    home = pypi.environment("selenium-" + VERSION, "selenium==" + VERSION)
    folder = [name for name in os.listdir(os.path.join(home, "lib")) if name.startswith("python3")][0]
    sys.path.insert(0, os.path.join(home, "lib", folder, "site-packages"))


@contextlib.contextmanager
def chromium():
    """A driver of a new browser, which keeps what its console says."""
    install()
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory() as profile:
        # Both write below the home directory, which may not be there or not be writable.
        os.environ["HOME"] = profile
        options = webdriver.ChromeOptions()
        for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + profile + "/data"]:
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium")
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()
