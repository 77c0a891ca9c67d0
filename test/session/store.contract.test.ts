import { driverNames } from "../../src/session/open.js";
import { storeContract } from "./store.contract.js";

for (const driver of driverNames) storeContract(driver);
