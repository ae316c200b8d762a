"""Opens the page of keyshare-device web in a browser, and uses it as a user would."""
import json
import signal
import subprocess

from toolbox.report import need


class Page:
    """The page of a device, or of a recording, in a browser."""

    def __init__(self, device, browser, *arguments):
        self.device, self.browser = device, browser
        self.process = device.start("keyshare-device", "web", *arguments, output=subprocess.PIPE)
        self.address = self.process.stdout.readline().decode().strip()
        need(self.address.startswith("http://127.0.0.1:"), f"the command prints {self.address!r}, not an address")
        self.host = self.address.split("/")[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)

    def open(self):
        """Opens the page."""
        self.browser.size(1440)
        self.browser.open(self.address)
        self.browser.wait("document.querySelector('#summary').textContent !== 'Loading…'", "the page")
        return self

    def serving(self):
        """Waits until the page shows a provider's list."""
        self.browser.wait("document.querySelectorAll('#items .item').length > 0", "the items of the provider")
        return self

    def item(self, name):
        """The selector of an item, by its identifier."""
        self.browser.wait(f"document.querySelector('#items .item[data-id=\"{name}\"]')", f"the item {name}")
        return f'#items .item[data-id="{name}"]'

    def first(self):
        """The identifier of the first file."""
        return self.browser.run("return document.querySelector('#items .item[data-kind=pkcs12]').dataset.id")

    def pick(self, name):
        """Selects an item that can be picked, and waits until it can be imported."""
        self.browser.click(self.item(name))
        self.browser.wait("!document.querySelector('#import').disabled", f"the selection of {name}")

    def imported(self, number=1):
        """Waits until an import is over; returns the text of its results."""
        self.browser.wait(
            f"document.querySelector('[data-job=\"{number}\"][data-over=true]')", "the end of the import")
        return self.browser.text(f'[data-job="{number}"]')

    def android(self):
        """Shows the Android phone."""
        self.browser.click("#phones input[value=android]")
        self.browser.wait("document.querySelector('#aliases').checkVisibility()", "the Android phone")

    def alias(self, name):
        """The selector of an entry of KeyChain, by its alias."""
        selector = f"#aliases .item[data-id={json.dumps(name)}]"
        self.browser.wait(f"document.querySelector({json.dumps(selector)})", f"the entry {name}")
        return selector

    def requested(self, number):
        """Waits until a request of the Android app is over; returns the text of its result."""
        selector = f'[data-request="{number}"][data-over=true]'
        self.browser.wait(f"document.querySelector('{selector}')", "the end of the request")
        return self.browser.text(selector)

    def preset(self, number):
        """Selects one of the preset requests, and waits until the picker shows it."""
        self.browser.click(f"#presets [data-preset='{number}']")
        self.browser.wait(f"document.querySelector('#presets [data-preset=\"{number}\"][aria-pressed=true]')", "the preset")

    def tab(self, name):
        """Shows a tab of a narrow or medium window."""
        self.browser.click(f"#tab-{name}")
        self.browser.wait(f"document.querySelector('#main').dataset.tab === '{name}'", f"the tab {name}")

    def start(self, fault="", kind="fault"):
        """Starts a provider from the page, with a fault of the service or, if `kind` is tokenFault, of the token."""
        if fault:
            self.browser.choose("#fault", f"{kind} {fault}")
        self.browser.click("#start")
        self.browser.wait(
            "/The provider of this page is running/.test(document.querySelector('#provider-state').textContent)"
            + (f" && document.querySelector('#provider-state').textContent.includes('{fault}')" if fault else ""),
            "the provider")
        return self.serving()
