#!/usr/bin/env python3
"""Opens a page in Chromium as people see it: wide, narrow, light, dark, on paper. Fails if anything is not as it should be.

    Tests/Page/browser.py PAGE FOLDER    PAGE an HTML file; screenshots go to FOLDER
    Tests/Page/browser.py --install      installs selenium, if it is not there

Prints what it measured as one JSON object. Exit code 77: the browser is not here, or selenium cannot be installed.
"""
import base64
import json
import os
import sys

import chromium

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
  if (!node.textContent.trim() || !element.checkVisibility()) continue;
  const style = getComputedStyle(element), size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  found.push([ratio(channels(style.color), behind(element)), isLarge ? 3 : 4.5, node.textContent.trim().slice(0, 40)]);
}
found.sort((a, b) => a[0] / a[1] - b[0] / b[1]);
return [found.length, found.filter(one => one[0] < one[1]), found[0][0]];
"""

# What must not be in a page: whatever runs, loads or sends.
ACTIVE = """
const handlers = [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.toLowerCase().startsWith('on')));
return [document.querySelectorAll('script, iframe, frame, object, embed, img, image, use, link, form, input, base, foreignObject, a').length,
        handlers.length, performance.getEntriesByType('resource').length, Object.keys(window).filter(k => k.startsWith('hacked')).length, document.title];
"""


def main():
    if sys.argv[1] == "--install":
        return chromium.install()

    page, artefacts = os.path.abspath(sys.argv[1]), sys.argv[2]
    name = os.path.splitext(os.path.basename(page))[0]
    os.makedirs(artefacts, exist_ok=True)
    problems, seen = [], {}

    def expect(condition, words):
        if not condition:
            problems.append(words)

    with chromium.chromium() as driver:
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
            count, low, least = driver.execute_script(CONTRAST)
            expect(not low, "%s: too little contrast: %s" % (kind, low[:5]))
            expect(count > 5, "%s: only %d texts were looked at" % (kind, count))
            seen[kind] = {"texts": count, "leastContrast": round(least, 2), "width": wide}
        show(1200, 900, "light")
        elements, handlers, loaded, hacked, title = driver.execute_script(ACTIVE)
        expect(elements == 0 and handlers == 0, "the page has %d active elements and %d handlers" % (elements, handlers))
        expect(loaded == 0 and hacked == 0, "the page loaded %d resources, and %d scripts ran" % (loaded, hacked))
        expect(title.startswith("Sync report"), "the title is %s" % title)

        paper = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False, "paperWidth": 8.27, "paperHeight": 11.69})["data"])
        with open("%s/%s.pdf" % (artefacts, name), "wb") as file:
            file.write(paper)
        expect(paper.startswith(b"%PDF"), "the page cannot be printed")
        messages = [one["message"] for one in driver.get_log("browser")]
        expect(not messages, "the console says: %s" % messages[:3])
    seen["problems"] = problems
    print(json.dumps(seen, sort_keys=True))
    sys.exit(1 if problems else 0)


main()
