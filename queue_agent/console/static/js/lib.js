// The libraries are classic scripts, as an import map would have to be inline, which the page's policy forbids.
const { preact, preactHooks, htm, uPlot: Plot } = window;

export const html = htm.bind(preact.h);
export const { render, Fragment } = preact;
export const { useCallback, useEffect, useMemo, useRef, useState, useLayoutEffect } = preactHooks;
export { Plot };

// Follows a text when its writer pauses, so that filtering does not hold up typing.
export function useDeferredText(text) {
  const [deferred, setDeferred] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDeferred(text), 80);
    return () => clearTimeout(timer);
  }, [text]);
  return deferred;
}
