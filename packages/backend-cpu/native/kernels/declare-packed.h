// Declares the products with packed weights in the namespace of one instruction set (QUERN_ISA). A table that takes the
// rest from another one includes it once more.
namespace quern::QUERN_ISA {

void packed_gemm_q4_0(const PackedGemm& args);
void packed_gemm_q4_1(const PackedGemm& args);
void packed_gemm_q5_0(const PackedGemm& args);
void packed_gemm_q5_1(const PackedGemm& args);
void packed_gemm_q8_0(const PackedGemm& args);
void packed_gemm_q2_k(const PackedGemm& args);
void packed_gemm_q3_k(const PackedGemm& args);
void packed_gemm_q4_k(const PackedGemm& args);
void packed_gemm_q5_k(const PackedGemm& args);
void packed_gemm_q6_k(const PackedGemm& args);
void packed_gemm_iq4_nl(const PackedGemm& args);
void packed_gemm_iq4_xs(const PackedGemm& args);
void packed_gemm_mxfp4(const PackedGemm& args);
void packed_gemm_iq8(const PackedGemm& args);

} // namespace quern::QUERN_ISA
