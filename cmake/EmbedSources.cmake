# Run by a build: makes the file OUT, which defines sources() (tenure/kernels/cuda/compile/sources.h),
# of the files TEXTS (with commas between them) below ROOT.

string(REPLACE "," ";" texts "${TEXTS}")
set(entries "")
foreach(name ${texts})
  file(READ "${ROOT}/${name}" text)
  string(APPEND entries "    {\"${name}\", R\"~~(${text})~~\"},\n")
endforeach()
# What NVRTC has nothing for.
foreach(name bit cmath concepts cstddef cstdint cstdlib limits type_traits)
  string(APPEND entries
    "    {\"${name}\", \"#include \\\"tenure/kernels/cuda/device/standard.cuh\\\"\\n\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"tenure/kernels/cuda/compile/sources.h\"

namespace tenure::kernels::cuda {

std::span<const Source> sources() {
  static constexpr Source kSources[] = {
${entries}  };
  return kSources;
}

}  // namespace tenure::kernels::cuda
")
