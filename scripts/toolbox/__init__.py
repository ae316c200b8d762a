"""The tools that several scripts share.

client   a second client of the provider's socket, written from the protocol's document
device   a simulated device in a scratch folder, with a running provider
build    where built commands lie, and how they are built
install  tools of others that a script compares with
process  one process run to its end
race     servers that answer one load in turns, for measurements
report   goals, refusals and arguments of a script
"""
