#!/bin/sh
# Installs what the tests want from the system: Graphviz's `dot` and the browser `chromium`. Without them the svg tests
# and the page's tests skip, so nothing here fails.

missing() {
    command -v "$1" > /dev/null || echo "$2"
}

packages="$(missing dot graphviz) $(missing chromium chromium)"
if [ "$packages" != " " ] && command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing Debian's packages for the tests:" $packages
    export DEBIAN_FRONTEND=noninteractive
    timeout 300 apt-get update > /dev/null 2>&1 < /dev/null
    for package in $packages; do
        timeout 600 apt-get install --yes --no-install-recommends "$package" > /dev/null 2>&1 < /dev/null
    done
fi
if ! command -v dot > /dev/null; then
    echo "*** Graphviz's 'dot' is not here and could not be installed: THE SVG TESTS WILL BE SKIPPED ***"
fi
if ! command -v chromium > /dev/null; then
    echo "*** The browser 'chromium' is not here and could not be installed: THE PAGE'S TESTS WILL BE SKIPPED ***"
fi
exit 0
