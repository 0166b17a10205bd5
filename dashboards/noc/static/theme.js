// Dark or light: as the system asks for, or as somebody chose here. Before the first paint, so that a wall never flashes.
(() => {
  const KEY = "fabricscope-theme";
  const root = document.documentElement;
  const prefersLight = matchMedia("(prefers-color-scheme: light)");
  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // a browser that keeps nothing
    }
  };

  function apply() {
    const theme = stored() ?? (prefersLight.matches ? "light" : "dark");
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = theme === "dark" ? "☀ light" : "☾ dark";
    root.dispatchEvent(new Event("theme"));
  }

  apply();
  prefersLight.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", () => {
      try {
        localStorage.setItem(KEY, root.dataset.theme === "dark" ? "light" : "dark");
      } catch {
        return;
      }
      apply();
    });
  });
})();
