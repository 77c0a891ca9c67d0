/** Pictures somebody pastes or drops, as data URLs, no larger than a model looks at. */
const longestEdge = 1568;
const smallEnough = 1_000_000;
const readable = /^image\/(?:png|jpeg|webp|gif)$/;

/** The pictures among what was pasted or dropped. */
export const picturesIn = (data: DataTransfer | null): File[] =>
  [...(data?.files ?? [])].filter(({ type }) => readable.test(type));

export async function dataUrlOf(file: File): Promise<string> {
  if (file.size <= smallEnough) return asIs(file);
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, longestEdge / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL("image/jpeg", 0.85);
}

const asIs = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result as string));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("unreadable")));
    reader.readAsDataURL(file);
  });
