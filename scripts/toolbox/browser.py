"""A headless Chromium, driven through chromedriver's WebDriver interface."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from toolbox.report import Missed, Skip, need

WEB_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """A browser with its own profile. At the end of a `with` statement, it is stopped and everything is removed."""

    def __init__(self):
        """Starts a browser. Raises `Skip` if no browser is installed."""
        for tool in ("chromium", "chromedriver"):
            if not shutil.which(tool):
                raise Skip(f"{tool} is not installed; install the Debian packages chromium and chromium-driver")
        self.folder = tempfile.mkdtemp(prefix="ks-browser-", dir="/tmp")
        self.requests, self.messages = [], []
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={**os.environ, "HOME": self.folder})
        for line in self.driver.stdout:
            if match := re.search(r"started successfully on port (\d+)", line):
                self.base = f"http://127.0.0.1:{match.group(1)}"
                break
        else:
            raise Missed("chromedriver does not start")
        arguments = [
            "--headless=new", f"--user-data-dir={self.folder}/profile", "--no-first-run", "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--disable-gpu", "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        ]
        # A browser that runs as root cannot create a sandbox.
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        capabilities = {
            "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "unhandledPromptBehavior": "ignore",
        }
        answer = self.send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = f"/session/{answer['sessionId']}"
        # Skips the requests of the browser's own first page.
        self.open("about:blank")
        self.collect()
        self.requests.clear()
        self.downloads = os.path.join(self.folder, "downloads")
        os.mkdir(self.downloads)
        self.protocol("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.downloads)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("DELETE", self.session)
        except (OSError, Missed):
            pass
        # The browser has ended with its session; SIGTERM may be blocked in child processes of a test.
        self.driver.kill()
        self.driver.wait(30)
        self.driver.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # The commands to chromedriver.

    def send(self, method, path, body=None):
        """Sends one command of WebDriver; returns the value of its answer."""
        request = urllib.request.Request(
            self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise Missed(f"{path.split('/')[-1]}: {value['error']}: {value['message'].splitlines()[0]}") from None

    def protocol(self, command, **parameters):
        """Sends one command of the DevTools protocol."""
        return self.send("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, address):
        """Opens an address and waits until the page is loaded."""
        self.send("POST", f"{self.session}/url", {"url": address})

    def run(self, script, *arguments):
        """Runs a script in the page; returns the result."""
        return self.send("POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, expression, what=None, seconds=30):
        """Waits until an expression is true in the page; returns its value."""
        end = time.monotonic() + seconds
        while True:
            if value := self.run(f"return {expression}"):
                return value
            need(time.monotonic() < end, f"timed out waiting for: {what or expression}")
            time.sleep(0.02)

    def element(self, selector):
        """The element that a selector of CSS finds."""
        return self.send(
            "POST", f"{self.session}/element", {"using": "css selector", "value": selector})[WEB_ELEMENT]

    def click(self, selector):
        """Clicks an element as a user does: it must be visible, enabled, and in front."""
        for attempt in range(10):
            try:
                self.send("POST", f"{self.session}/element/{self.element(selector)}/click", {})
                return
            except Missed as reason:
                # The page has redrawn the element between the two commands.
                if "stale element" not in str(reason) or attempt == 9:
                    raise

    def keys(self, text):
        """Types into the element with the focus; WebDriver's numbers represent keys without a character."""
        active = self.send("GET", f"{self.session}/element/active")[WEB_ELEMENT]
        self.send("POST", f"{self.session}/element/{active}/value", {"text": text})

    def choose(self, selector, value):
        """Chooses an option of a list by its value. Clicking an option would depend on the list's position."""
        self.wait(f"!document.querySelector({json.dumps(selector)}).disabled")
        chosen = self.run(
            "const list = document.querySelector(arguments[0]); list.scrollIntoView({ block: 'center' });"
            "list.value = arguments[1]; list.dispatchEvent(new Event('change', { bubbles: true })); return list.value",
            selector, value)
        need(chosen == value, f"{selector} has no option {value}")

    def text(self, selector):
        """The text of an element."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def size(self, width, height=900, is_dark=False):
        """Sets the page's size and whether it is dark."""
        self.protocol(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.protocol(
            "Emulation.setEmulatedMedia",
            # Without animations, the current colour is the final one.
            features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"},
                      {"name": "prefers-reduced-motion", "value": "reduce"}])

    def picture(self, path, height=None, is_window=False):
        """Saves a picture of the page, with its full height or at most the given height; if `is_window` is true, of its
        visible part."""
        metrics = self.protocol("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": metrics["width"], "height": min(metrics["height"], height or 1 << 14), "scale": 1}
        picture = self.protocol(
            "Page.captureScreenshot", captureBeyondViewport=not is_window, optimizeForSpeed=False,
            **({} if is_window else {"clip": clip}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    # The observations of the browser.

    def collect(self):
        """Reads the new entries of the browser's log: messages of the console, and requests."""
        for entry in self.send("POST", f"{self.session}/se/log", {"type": "browser"}):
            self.messages.append(f"{entry['level']}: {entry['message']}")
        for entry in self.send("POST", f"{self.session}/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])

    def need_clean(self, address):
        """Raises `Missed` if the console has an error, or the page requested a URL that does not begin with the address."""
        self.collect()
        need(not self.messages, f"the console shows {self.messages}")
        others = [url for url in self.requests if not url.startswith((address, "blob:", "data:", "about:", "chrome:"))]
        need(not others, f"the page sends requests to other hosts: {others}")
        need(self.requests, "no request was seen")

    def need_names(self):
        """Raises `Missed` if a control of the accessibility tree has no name."""
        roles = {"button", "checkbox", "radio", "combobox", "searchbox", "textbox", "link", "region", "list",
                 "alertdialog", "progressbar", "image", "table", "DisclosureTriangle", "navigation", "group"}
        nameless = []
        count = 0
        for node in self.protocol("Accessibility.getFullAXTree")["nodes"]:
            role = node.get("role", {}).get("value")
            if node.get("ignored") or role not in roles:
                continue
            count += 1
            if not node.get("name", {}).get("value", "").strip() and role not in {"table", "list", "group"}:
                nameless.append(role)
        need(count > 20, f"the accessibility tree has {count} controls")
        need(not nameless, f"controls without a name: {nameless}")

    def need_roles(self, *expected):
        """Raises `Missed` unless the accessibility tree has a node with each role and name."""
        found = {
            (node.get("role", {}).get("value"), node.get("name", {}).get("value", "").strip())
            for node in self.protocol("Accessibility.getFullAXTree")["nodes"] if not node.get("ignored")}
        missing = [pair for pair in expected if pair not in found]
        need(not missing, f"missing in the accessibility tree: {missing}")

    def need_layout(self, may_scroll):
        """Raises `Missed` if the page is too wide, if a text or a control is cut or overlaps another, or if a scroll area is
        inside another. If `may_scroll` is false, only the page itself may scroll."""
        problems = self.run(LAYOUT, may_scroll)
        need(not problems, f"{len(problems)} problems of the layout: {problems[:6]}")

    def need_contrast(self, least=4.5):
        """Raises `Missed` if a text has less contrast to its background (WCAG 2.2, 1.4.3)."""
        weak = self.run(CONTRAST, least)
        need(not weak, f"texts of too little contrast: {weak[:8]}")


# Computes the contrast of each visible text from the computed styles. The background is searched outwards; on the
# pages here it is opaque or absent, and the outermost background is the browser's own.
CONTRAST = """
const probe = document.body.appendChild(document.createElement("i"));
probe.style.backgroundColor = "Canvas";
const canvas = getComputedStyle(probe).backgroundColor;
probe.remove();
const numbers = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
const luminance = (colour) => {
  const parts = numbers(colour).slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const isClear = (colour) => colour === "transparent" || colour === "none" || (numbers(colour).length === 4 && numbers(colour)[3] === 0);
const behind = (element) => {
  if (element instanceof SVGElement && element.localName === "text") {
    const boxes = [...element.parentElement.querySelectorAll("rect")].reverse();
    const own = element.getBBox();
    const box = boxes.find((box) => {
      const area = box.getBBox();
      return !isClear(getComputedStyle(box).fill) && area.x <= own.x && area.x + area.width >= own.x + own.width && area.y <= own.y && area.y + area.height >= own.y;
    });
    if (box) return getComputedStyle(box).fill;
  }
  for (let outer = element; outer; outer = outer.parentElement) {
    const colour = getComputedStyle(outer).backgroundColor;
    if (!isClear(colour)) return colour;
  }
  return canvas;
};
const weak = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
  if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const front = element instanceof SVGElement ? style.fill : style.color;
  const back = behind(element);
  const [one, other] = [luminance(front), luminance(back)];
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (ratio < arguments[0]) weak.push(`${walker.currentNode.data.trim().slice(0, 40)}: ${ratio.toFixed(2)} (${front} on ${back})`);
}
return weak;
"""

# Compares the boxes of all texts and controls. A layer is an element that intentionally covers others (sticky, fixed,
# absolute, a modal dialog); boxes are compared only within their layer, and only their visible parts count.
LAYOUT = """
const mayScroll = arguments[0];
const problems = [];
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) problems.push(`the page is ${root.scrollWidth - root.clientWidth} pixels too wide`);
const name = (element) => `${element.localName}${element.id ? `#${element.id}` : ""}${element.className?.baseVal === undefined && element.className ? `.${element.className}` : ""} “${element.textContent.trim().slice(0, 24)}”`;
const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".hidden, .skip, noscript");
const elements = [...document.body.querySelectorAll("*")].filter((element) => !element.closest("script, option") && isShown(element));
const isScroller = (element) => /auto|scroll/.test(getComputedStyle(element).overflowY + getComputedStyle(element).overflowX)
  && (element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1);
for (const element of elements) {
  if (element.closest("svg, select")) continue;
  const style = getComputedStyle(element);
  // An ellipsis shows that a text is cut.
  if (style.textOverflow === "ellipsis") continue;
  if (style.display !== "inline" && !/auto|scroll/.test(style.overflowX) && element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1) {
    problems.push(`${name(element)} is cut: ${element.scrollWidth} of ${element.clientWidth} pixels`);
  }
  if (style.overflowY === "hidden" && element.scrollHeight > element.clientHeight + 1) problems.push(`${name(element)} is cut at its end`);
  if (!isScroller(element)) continue;
  if (!mayScroll) problems.push(`${name(element)} is a scroll area`);
  for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
    if (isScroller(outer)) problems.push(`${name(element)} is a scroll area inside ${name(outer)}`);
  }
}
const layer = (element) => {
  for (let outer = element; outer && outer !== document.body; outer = outer.parentElement) {
    if (["sticky", "fixed", "absolute"].includes(getComputedStyle(outer).position)) return outer;
  }
  return document.body;
};
const visiblePart = (box, element) => {
  let { left, top, right, bottom } = box;
  for (let outer = element; outer && outer !== document.body; outer = outer.parentElement) {
    if (getComputedStyle(outer).overflowY === "visible" || outer instanceof SVGElement && outer.localName !== "svg") continue;
    const frame = outer.getBoundingClientRect();
    [left, top, right, bottom] = [Math.max(left, frame.left), Math.max(top, frame.top), Math.min(right, frame.right), Math.min(bottom, frame.bottom)];
  }
  return { left, top, right, bottom };
};
const parts = [];
const add = (element, boxes) => {
  const own = layer(element);
  for (const box of boxes) {
    const part = visiblePart(box, element);
    if (part.right - part.left > 1 && part.bottom - part.top > 1) parts.push({ element, layer: own, ...part });
  }
};
for (const element of elements) {
  if (element.matches("button, input, select, summary, img")) add(element, [element.getBoundingClientRect()]);
  for (const node of element.childNodes) {
    if (node.nodeType !== Node.TEXT_NODE || !node.data.trim() || element.closest("select")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    add(element, range.getClientRects());
  }
}
for (const [index, one] of parts.entries()) {
  for (const other of parts.slice(index + 1)) {
    if (one.layer !== other.layer || one.element.contains(other.element) || other.element.contains(one.element)) continue;
    const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (width > 2 && height > 3) problems.push(`${name(one.element)} overlaps ${name(other.element)} by ${Math.round(width)} x ${Math.round(height)}`);
  }
}
return problems;
"""
