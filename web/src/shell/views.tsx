/** The views of the page, in the order of the menu. */
import type { ComponentType } from "preact";
import { ChatView } from "../chat/ui/chat-view.js";
import type { IconName } from "../ui/icon.js";
import { lazy } from "./lazy.js";
import type { View } from "./route.js";

export type ViewEntry = {
  readonly view: View;
  readonly name: string;
  /** Where there is little room. */
  readonly short?: string;
  readonly icon: IconName;
  readonly Body: ComponentType;
};

export const views: readonly ViewEntry[] = [
  { view: "chat", name: "Chat", icon: "chat", Body: ChatView },
  {
    view: "conversations",
    name: "Conversations",
    short: "All chats",
    icon: "conversations",
    Body: lazy(async () => (await import("../views/conversations/conversations-view.js")).ConversationsView),
  },
  {
    view: "messages",
    name: "Messages",
    icon: "messages",
    Body: lazy(async () => (await import("../views/messages/messages-view.js")).MessagesView),
  },
  {
    view: "memory",
    name: "Memory",
    icon: "memory",
    Body: lazy(async () => (await import("../views/memory/memory-view.js")).MemoryViewPage),
  },
  {
    view: "schedule",
    name: "Schedule",
    icon: "schedule",
    Body: lazy(async () => (await import("../views/schedule/schedule-view.js")).ScheduleView),
  },
  {
    view: "health",
    name: "Health",
    icon: "health",
    Body: lazy(async () => (await import("../views/health/health-view.js")).HealthView),
  },
];
