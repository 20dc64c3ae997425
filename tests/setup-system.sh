#!/bin/sh
# Installs what the tests want from the system: Graphviz's `dot`. Without it the svg tests skip, so nothing here fails.

if command -v dot > /dev/null; then
    exit 0
fi
if command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing Debian's graphviz for the svg tests"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install --yes --no-install-recommends graphviz; } > /dev/null 2>&1 < /dev/null
fi
if ! command -v dot > /dev/null; then
    echo "*** Graphviz's 'dot' is not here and could not be installed: THE SVG TESTS WILL BE SKIPPED ***"
fi
exit 0
