/** The page begins here. */
import { render } from "preact";
import { App } from "./shell/app.js";
import { createPage, PageContext } from "./shell/page.js";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";

const page = createPage(window);
const root = document.querySelector("#app");
if (root) {
  root.replaceChildren();
  render(
    <PageContext.Provider value={page}>
      <App />
    </PageContext.Provider>,
    root,
  );
}
page.listen();
