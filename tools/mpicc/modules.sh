# The modules mpi and mpi_f08, which every compiler writes in a form of its own: built from the installed sources for
# the compiler in use, once. They lie beside the library, or (for a compiler that was not there when weft was built)
# in the user's cache.
other=${MPICH_FC:-${OMPI_FC:-}}
[ -n "${WEFT_FC:-}" ] || [ -z "$other" ] || compiler=$other

# Default integers of 8 bytes: another library, and modules of their own.
i8=
eight=
default_integers() {
  for word; do
    case $word in
      -fdefault-integer-8 | -i8) i8=_i8 eight=$word ;;
      -finteger-4-integer-8)
        echo "mpifort: $word also makes integer(4) of 8 bytes, which MPI's own arguments are not; use" \
          "-fdefault-integer-8" >&2
        exit 1 ;;
      -integer-size | -integer_size)
        echo "mpifort: write -i8 instead of $word 64, so that the library for such integers is linked" >&2
        exit 1 ;;
    esac
  done
}

find_modules() {
  # Not beside an answer: CMake sets MPICH_FC, and reads answers and remarks as one.
  [ "$ask$compiler" != "$other" ] ||
    echo "mpifort: takes $compiler, as MPICH_FC or OMPI_FC says; weft's own name for it is WEFT_FC" >&2
  sources=$prefix/@CMAKE_INSTALL_DATADIR@/weft/fortran
  version=$($compiler --version 2>/dev/null | sed -n '/[^ ]/{p;q;}') || version=
  if [ -z "$version" ]; then
    echo "mpifort: there is no Fortran compiler '$compiler'; name one by -fc= or WEFT_FC" >&2
    exit 1
  fi
  key=$(printf '%s' "$version" | tr -cs 'A-Za-z0-9.' '-')-$(cat "$sources"/*.f90 | cksum | cut -d' ' -f1)${i8:+-i8}
  for place in "$lib/mpifort" "${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/weft/mpifort"; do
    modules=$place/$key
    [ ! -e "$modules/mpi.mod" ] || return 0
    [ -z "${WEFT_MODULES_HERE:-}" ] || break  # weft's own build
  done
  build_modules
}

build_modules() {
  mkdir -p "$place" && work=$(mktemp -d "$place/new.XXXXXX") || {
    echo "mpifort: cannot build MPI's modules for this compiler in $place; set XDG_CACHE_HOME to a folder that can be" \
      "written" >&2
    exit 1
  }
  cp "$sources"/*.f90 "$work"
  # The forms with large counts are then the same as those without.
  [ -z "$i8" ] || sed -i '/^ *! large counts$/,/^ *END SUBROUTINE$/d' "$work/mpi_f08.f90"
  # Of whoever asks for 8 bytes without compiling (weft fortran) the option may be another compiler's.
  if ! (cd "$work" && $compiler $eight -c mpi.f90) >"$work/log" 2>&1; then
    [ -z "$i8" ] || eight=-fdefault-integer-8
  fi
  if ! (cd "$work" && $compiler $eight -c mpi.f90) >"$work/log" 2>&1; then
    echo "mpifort: $compiler cannot compile $sources/mpi.f90:" >&2
    head -20 "$work/log" >&2
    rm -rf "$work"
    exit 1
  fi
  # gfortran 11 has descriptors, but not for strings.
  (cd "$work" && $compiler $eight -c mpi_f08.f90) >"$work/log" 2>&1 ||
    (cd "$work" && sed -i '/ by descriptor/s/CHARACTER(LEN=\*)/TYPE(*), DIMENSION(..)/' mpi_f08.f90 &&
      $compiler $eight -c mpi_f08.f90) >"$work/log" 2>&1 ||
    echo "mpifort: $version cannot compile the module mpi_f08, which needs TS 29113 (gfortran 9 or newer, flang," \
      "a recent ifx or nvfortran); mpif.h and the module mpi work" >&2
  rm -f "$work"/*.o "$work"/*.f90 "$work/log"
  chmod 755 "$work"
  # Two may do so at once: the first wins, and both are the same.
  mv -T "$work" "$modules" 2>/dev/null || rm -rf "$work"
}
