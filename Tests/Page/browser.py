#!/usr/bin/env python3
"""Opens a page in Chromium as people see it: wide, narrow, light, dark, by keyboard, on paper. Fails if anything is not as it should be.

    Tests/Page/browser.py PAGE FOLDER POINTS    PAGE an HTML file; screenshots go to FOLDER; POINTS of the first plot, - for any
    Tests/Page/browser.py --install             installs selenium, if it is not there

Chromium and its driver are Debian's packages chromium and chromium-driver; selenium comes from PyPI into a virtual environment in the user's
cache. Prints what it measured as one JSON object. Exit code 77: the browser is not here, or selenium cannot be installed.
"""
import base64
import json
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Servers"))

import pypi

VERSION = "4.27.1"

# Each text with its colour, the colour behind it, and whether it is large (WCAG 2.2, 1.4.3).
CONTRAST = """
function channels(color) { return color.match(/[\\d.]+/g).map(Number); }
function luminance(color) {
  return [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const c = color[i] / 255;
    return sum + weight * (c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4));
  }, 0);
}
function behind(element) {
  for (let e = element; e; e = e.parentElement) {
    const color = channels(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return [255, 255, 255];
}
function ratio(one, other) {
  const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, element = node.parentElement;
  if (!node.textContent.trim() || element.closest('svg') || !element.checkVisibility()) continue;
  const style = getComputedStyle(element), size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  found.push([ratio(channels(style.color), behind(element)), isLarge ? 3 : 4.5, node.textContent.trim().slice(0, 40)]);
}
for (const input of document.querySelectorAll('input')) {
  found.push([ratio(channels(getComputedStyle(input).color), behind(input)), 4.5, input.value]);
}
for (const mark of document.querySelectorAll('.point rect, .meter rect:not(.track), .swatch rect')) {
  found.push([ratio(channels(getComputedStyle(mark).fill), behind(mark.closest('svg'))), 3, 'mark ' + mark.getAttribute('class')]);
}
found.sort((a, b) => a[0] / a[1] - b[0] / b[1]);
return [found.length, found.filter(one => one[0] < one[1]), found[0][0]];
"""

# What must not be in a page: whatever runs, loads or sends.
ACTIVE = """
const handlers = [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.toLowerCase().startsWith('on')));
return [document.querySelectorAll('script, iframe, frame, object, embed, img, image, use, link, form, base, foreignObject, a:not([href^="#"])').length,
        handlers.length, performance.getEntriesByType('resource').length, Object.keys(window).filter(k => k.startsWith('hacked')).length, document.title];
"""


def main():
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("Chromium is not here; Debian's packages are chromium and chromium-driver", file=sys.stderr)
        sys.exit(77)
    home = pypi.environment("selenium-" + VERSION, "selenium==" + VERSION)
    if sys.argv[1] == "--install":
        return
    folder = [name for name in os.listdir(os.path.join(home, "lib")) if name.startswith("python3")][0]
    sys.path.insert(0, os.path.join(home, "lib", folder, "site-packages"))
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys

    page, artefacts, points = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    name = os.path.splitext(os.path.basename(page))[0]
    os.makedirs(artefacts, exist_ok=True)
    problems, seen = [], {}

    def expect(condition, words):
        if not condition:
            problems.append(words)

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
            def show(width, height, scheme, media=""):
                driver.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
                driver.execute_cdp_cmd(
                    "Emulation.setEmulatedMedia", {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
                driver.get("file://" + page)

            def picture(kind):
                shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"})
                with open("%s/%s-%s.png" % (artefacts, name, kind), "wb") as file:
                    file.write(base64.b64decode(shot["data"]))

            for kind, width, height, scheme in [
                ("wide", 1200, 900, "light"), ("narrow", 360, 740, "light"), ("dark", 1200, 900, "dark"), ("narrow-dark", 360, 740, "dark"),
            ]:
                show(width, height, scheme)
                wide, inner = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
                expect(wide <= width and inner == width, "%s: the page is %d wide in a window of %d" % (kind, wide, inner))
                picture(kind)
                driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
                count, low, least = driver.execute_script(CONTRAST)
                expect(not low, "%s: too little contrast: %s" % (kind, low[:5]))
                expect(count > 50, "%s: only %d texts and marks were looked at" % (kind, count))
                wide = driver.execute_script("return document.documentElement.scrollWidth")
                expect(wide <= width, "%s: with everything unfolded the page is %d wide" % (kind, wide))
                seen[kind] = {"texts": count, "leastContrast": round(least, 2), "width": wide}
            show(1200, 900, "light")
            found = driver.execute_script("""
                const first = document.querySelector('.chart.stored');
                return first ? [...first.querySelectorAll('.point')].map(p => [Number(p.dataset.versions), Number(p.dataset.bytes), p.querySelectorAll('rect').length,
                    [...p.querySelectorAll('rect')].every(r => r.getBoundingClientRect().width > 0 && r.getBoundingClientRect().height > 0)]) : []""")
            seen["points"] = len(found)
            seen["versions"] = sum(one[0] for one in found)
            expect(points == "-" or len(found) == int(points), "the plot has %d points, not %s" % (len(found), points))
            expect(all(one[2] >= 1 and one[3] for one in found), "a point of the plot cannot be seen")
            elements, handlers, loaded, hacked, title = driver.execute_script(ACTIVE)
            expect(elements == 0 and handlers == 0, "the page has %d active elements and %d handlers" % (elements, handlers))
            expect(loaded == 0 and hacked == 0, "the page loaded %d resources, and %d scripts ran" % (loaded, hacked))
            expect(title.startswith("Sync report"), "the title is %s" % title)

            # With the keyboard alone: the first command is reached and selected whole.
            if driver.execute_script("return document.querySelectorAll('input').length") > 0:
                body = driver.find_element("tag name", "body")
                for _ in range(2000):
                    driver.switch_to.active_element.send_keys(Keys.TAB)
                    if driver.execute_script("return document.activeElement.tagName") == "INPUT":
                        break
                start, end, length = driver.execute_script(
                    "const e = document.activeElement; return [e.selectionStart, e.selectionEnd, (e.value || '').length]")
                expect(start == 0 and end == length > 0, "the Tab key selects %s to %s of %s characters" % (start, end, length))

            # As a screen reader has it: what can be focused, and each picture, has a name.
            tree = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
            for node in tree:
                role, label = node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
                if not node.get("ignored") and role in ("textbox", "image", "region", "navigation", "link", "heading", "table"):
                    expect(bool(label.strip()), "a %s has no name" % role)
            seen["headings"] = sum(node.get("role", {}).get("value") == "heading" and not node.get("ignored") for node in tree)

            show(794, 1123, "light", "print")
            expect(driver.execute_script("return [...document.querySelectorAll('.commands code')].every(c => c.checkVisibility())"), "a command is not printed")
            show(1200, 900, "light")
            paper = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False, "paperWidth": 8.27, "paperHeight": 11.69})["data"])
            with open("%s/%s.pdf" % (artefacts, name), "wb") as file:
                file.write(paper)
            expect(paper.startswith(b"%PDF"), "the page cannot be printed")
            messages = [one["message"] for one in driver.get_log("browser")]
            expect(not messages, "the console says: %s" % messages[:3])
        finally:
            driver.quit()
    seen["problems"] = problems
    print(json.dumps(seen, sort_keys=True))
    sys.exit(1 if problems else 0)


main()
