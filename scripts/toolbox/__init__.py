"""The tools that several scripts share.

browser     a headless Chromium
build       builds the commands, and locates them
changelog   the version of the package and its date
client      a second client of the provider's socket, written from the protocol page
components  the components of the package, their licenses, and the bill of materials
device      a simulated device in a scratch folder, with a running provider
documents   the package's documents, and their paths after installation
english     the check of the English of all texts
install     installs other programs that a script compares with
lintcorpus  foreign certificates, and the findings of other linters about them
page        the page of keyshare-device web in a browser
process     runs a process to its end
race        servers that handle the same load in turns, for measurements
report      goals, refusals and arguments of a script
roff        pages of the manual
site        the documentation as static files
"""
