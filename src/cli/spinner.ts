/** A sign of life while the model thinks: in a row of its own, which is empty again afterwards. */
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export function createSpinner(write: (text: string) => void, label: string) {
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;
  const turn = (): void => write(`\r${frames[frame++ % frames.length]} ${label}`);
  return {
    start(): void {
      if (timer) return;
      turn();
      timer = setInterval(turn, 80);
    },
    stop(): void {
      if (!timer) return;
      clearInterval(timer);
      timer = undefined;
      write("\r\u001b[K");
    },
  };
}
