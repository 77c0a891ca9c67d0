/** A sign of life while the model thinks. */
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export function createSpinner(write: (text: string) => void, label: string) {
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;
  return {
    start(): void {
      timer ??= setInterval(() => write(`\r${frames[frame++ % frames.length]} ${label}`), 80);
    },
    stop(): void {
      if (!timer) return;
      clearInterval(timer);
      timer = undefined;
      write("\r\u001b[K");
    },
  };
}
