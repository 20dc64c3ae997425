"""Where NaN and Inf come from: looks at results on the host and on accelerators."""
