/** The page begins here. */
// What stands in the first sheet can be changed by all others.
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { render } from "preact";
import { App } from "./shell/app.js";
import { createPage, PageContext } from "./shell/page.js";

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
